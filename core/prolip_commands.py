"""The commands that train ProLIPs: what each does with its parsed arguments, and the document it gives back."""

from __future__ import annotations

from pathlib import Path

from core.progress import Bar

Result = dict | None


def train_mini_prolip(args) -> Result:
    """Train the offline ProLIP's heads, and estimate their curvature, from folders of image–text pairs."""
    from core.encoders.train_mini_prolip import train_mini_prolip

    with Bar() as bar:
        return train_mini_prolip([Path(folder) for folder in args.data], on_progress=bar)


def train_prolip(args) -> Result:
    """Train a ProLIP on image–text pairs, from scratch or from a checkpoint; torchrun starts it on several GPUs."""
    from core.data.pairs import open_pairs
    from core.prolip.team import joined_team
    from core.prolip.train import TrainConfig, steps_of, train
    from core.values import silent

    stream = open_pairs(args.data, args.hold_out)
    steps = args.steps or steps_of(stream, args.epochs, args.batch)
    config = TrainConfig(
        steps=steps,
        batch=args.batch,
        learning_rate=args.lr,
        warmup=min(args.warmup, steps) if args.warmup is not None else steps // 10,
        weight_decay=args.weight_decay,
        amp=not args.no_amp,
        seed=args.seed,
    )
    running = {"resume": args.resume, "save_every": args.save_every, "threads": args.threads}
    with joined_team(args.device) as team, Bar() as bar:
        report = bar if team.leads else silent
        trained = train(_trainee(args), stream, Path(args.out), config, team=team, **running, on_progress=report)
        found = {"model": f"local-dir:{trained.folder}", "steps": trained.steps, "loss": trained.loss}
        return found if team.leads else None


def _trainee(args):
    """New weights of `--model`, or those that `--from` names: of a folder, of the hub, or of a file for `--model`."""
    from core.encoders.loading import FOLDER, SCHEMES, new_prolip, prolip_parts
    from core.prolip.train import Trainee

    if args.start is None:
        model, preprocess, tokenizer = new_prolip(args.model, args.seed)
    elif args.start.startswith(SCHEMES):
        model, preprocess, tokenizer = prolip_parts(args.start)
    elif Path(args.start).is_dir():
        model, preprocess, tokenizer = prolip_parts(FOLDER + args.start)
    else:
        model, preprocess, tokenizer = prolip_parts(args.model, args.start)
    return Trainee(model=model, tokenizer=tokenizer, preprocess=preprocess)
