"""Hugging Face's Trainer: two windows of a training, recorded. python3 transformers_trainer.py FOLDER"""
import sys

import torch
from kino.integrations.transformers import KinoCallback
from transformers import Trainer, TrainingArguments


class Regression(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 1)

    def forward(self, x, labels):
        return {"loss": torch.nn.functional.mse_loss(self.linear(x), labels)}


data = [{"x": torch.randn(16), "labels": torch.zeros(1)} for _ in range(64)]
callback = KinoCallback(sys.argv[1], wait=1, warmup=1, active=2, repeat=2, record_shapes=True)
arguments = TrainingArguments(output_dir=f"{sys.argv[1]}/output", max_steps=10, per_device_train_batch_size=4, report_to=[], use_cpu=True,
                              save_strategy="no", logging_strategy="no", disable_tqdm=True)
Trainer(model=Regression(), args=arguments, train_dataset=data, callbacks=[callback]).train()
print(callback.report())
