"""A generator learns to draw digits by deceiving a critic (Wasserstein GAN with clipped weights).

python examples/wgan/wgan.py train                     a sheet of drawings every few epochs, then the generator
python examples/wgan/wgan.py generate drawings.png     new drawings by the saved generator
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pyburn
from pyburn import Tensor, nn, optim
from pyburn.config import Config
from pyburn.data import DataLoader, TensorDataset
from pyburn.data.sets import MNIST
from pyburn.io import load_into, save_module
from pyburn.train import Progress, StopRequest


class GanConfig(Config):
    latent: int = 100
    epochs: int = 5
    batch_size: int = 64
    lr: float = 5e-4
    critic_steps: int = 5
    clip: float = 0.01
    seed: int = 5


def make_generator(latent: int) -> nn.Sequential:
    """Random numbers (batch, latent) to pictures (batch, 1, 28, 28) between -1 and 1."""
    layers: list[nn.Module] = []
    for width, wide in ((latent, 128), (128, 256), (256, 512), (512, 1024)):
        layers += [nn.Linear(width, wide), nn.BatchNorm1d(wide, eps=0.8), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Linear(1024, 784), nn.Tanh(), nn.Unflatten(1, (1, 28, 28)))


def make_critic() -> nn.Sequential:
    """Pictures to one number each: high for real ones, low for drawings."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))


def draw(generator: nn.Module, noise: Tensor, path: Path, columns: int = 5) -> None:
    """Drawings made of rows of noise, as a sheet."""
    from PIL import Image

    generator.eval()
    with pyburn.inference_mode():
        pictures = ((generator(noise)[:, 0] + 1) * 127.5).round().to(pyburn.uint8)
    generator.train()
    rows = len(noise) // columns
    sheet = pictures[: rows * columns].reshape(rows, columns, 28, 28).permute(0, 2, 1, 3).reshape(rows * 28, columns * 28)
    Image.fromarray(255 - sheet.numpy()).resize((columns * 84, rows * 84)).save(path)


def train(config: GanConfig, output: Path, items: int | None, draw_every: int) -> int:
    pyburn.manual_seed(config.seed)
    output.mkdir(parents=True, exist_ok=True)
    pictures = MNIST(train=True).data[:items].unsqueeze(1).float() / 127.5 - 1
    batches = DataLoader(TensorDataset(pictures), config.batch_size, shuffle=True, drop_last=True)
    generator, critic = make_generator(config.latent), make_critic()
    generator_optimizer = optim.RMSprop(generator.parameters(), lr=config.lr, alpha=0.99, eps=8e-8)
    critic_optimizer = optim.RMSprop(critic.parameters(), lr=config.lr, alpha=0.99, eps=8e-8)
    sheet_noise = pyburn.randn(25, config.latent)  # the same for all sheets, so that they can be compared

    step = 0
    with StopRequest() as stop:  # Ctrl-C finishes the step, draws and saves
        for epoch in range(1, config.epochs + 1):
            distances: list[float] = []
            for (real,) in (bar := Progress(batches, f"epoch {epoch}/{config.epochs}")):
                step += 1
                noise = pyburn.randn(len(real), config.latent)
                with pyburn.no_grad():
                    drawn = generator(noise)
                # The critic's scores lie as far apart as its bounded weights allow: an estimate of the Wasserstein distance.
                critic_optimizer.zero_grad()
                distance = critic(real).mean() - critic(drawn).mean()
                (-distance).backward()
                critic_optimizer.step()
                with pyburn.no_grad():
                    for weight in critic.parameters():
                        weight.clamp_(-config.clip, config.clip)
                distances.append(distance.item())
                bar.show(distance=distances[-1])
                if step % config.critic_steps == 0:
                    generator_optimizer.zero_grad()
                    (-critic(generator(noise)).mean()).backward()
                    generator_optimizer.step()
                if stop.reason:
                    break
            print(f"epoch {epoch}/{config.epochs}: distance {sum(distances) / len(distances):.4f}", flush=True)
            if epoch % draw_every == 0 or epoch == config.epochs or stop.reason:
                draw(generator, sheet_noise, output / f"epoch-{epoch:03}.png")
            if stop.reason:
                break
    save_module(generator, output / "generator.pyburn", config=config)
    save_module(critic, output / "critic.pyburn", config=config)
    print(f"saved: {output / 'generator.pyburn'}; look at {output / f'epoch-{epoch:03}.png'}")
    return 130 if stop.reason else 0


def generate(path: Path, target: Path, seed: int) -> int:
    """New drawings with the generator of a file."""
    config = GanConfig.load(path)
    generator = make_generator(config.latent)
    load_into(generator, path)
    pyburn.manual_seed(seed)
    draw(generator, pyburn.randn(50, config.latent), target, columns=10)
    print(f"look at {target}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train and save")
    training.add_argument("--epochs", type=int, help="how often to see every picture (default: 5)")
    training.add_argument("--items", type=int, help="learn from the first so many pictures only")
    training.add_argument("--burn", action="store_true", help="Burn's settings: batches of 512, 200 epochs, a rate of 3e-4")
    training.add_argument("--draw-every", type=int, default=1, help="a sheet every so many epochs (default: 1)")
    drawing = commands.add_parser("generate", help="draw with a saved generator")
    drawing.add_argument("target", type=Path, nargs="?", default=Path("drawings.png"))
    drawing.add_argument("--seed", type=int, default=0, help="other seeds give other drawings")
    for command in (training, drawing):
        command.add_argument("--output", type=Path, default=Path("wgan-output"), help="folder of sheets and models (default: wgan-output)")
    arguments = parser.parse_args()
    if arguments.command == "generate":
        return generate(arguments.output / "generator.pyburn", arguments.target, arguments.seed)
    config = GanConfig(epochs=200, batch_size=512, lr=3e-4) if arguments.burn else GanConfig()
    if arguments.epochs:
        config = config.with_epochs(arguments.epochs)
    return train(config, arguments.output, arguments.items, arguments.draw_every)


if __name__ == "__main__":
    sys.exit(main())
