"""Three small training loops, the same for each profiler: called as torch_models.train(name, profiler). Needs torch."""
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.norm(self.first(x)))))


def resnet():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), Residual(8), Residual(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    return net, torch.randn(2, 3, 16, 16), lambda out: nn.functional.cross_entropy(out, torch.tensor([1, 3]))


def transformer():
    net = nn.TransformerEncoderLayer(d_model=16, nhead=2, dim_feedforward=32, batch_first=True, dropout=0.0)
    return net, torch.randn(2, 5, 16), lambda out: out.pow(2).mean()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(6, 8, num_layers=2, batch_first=True)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


def lstm():
    return Recurrent(), torch.randn(3, 7, 6), lambda out: out.abs().sum()


MODELS = {"resnet": resnet, "transformer": transformer, "lstm": lstm}


def train(name, profiler, steps, annotate):
    """The same work in the same order each time."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net, batch, loss_of = MODELS[name]()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    with profiler as running:
        for _ in range(steps):
            with annotate("forward"):
                loss = loss_of(net(batch))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            running.step()
    return running
