"""Lightning: the third to the fifth step of a training, recorded. python3 lightning_trainer.py FOLDER"""
import sys

import lightning.pytorch as pl
import torch
from kino.integrations.lightning import KinoProfiler


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.layers(batch[0]), batch[1])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = torch.utils.data.TensorDataset(torch.randn(80, 32), torch.randint(0, 2, (80,)))
profiler = KinoProfiler(folder=sys.argv[1], record_shapes=True)
trainer = pl.Trainer(max_epochs=1, profiler=profiler, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                     enable_model_summary=False)
trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=8))
print(profiler.report())
