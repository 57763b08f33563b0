"""Training a tiny ProLIP: it learns, goes on as if never stopped, and does not depend on the number of processes."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from socket import socket

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from core.cli import main
from core.data.pairs import open_pairs
from core.encoders import load_encoder
from core.errors import Cancelled, InputError, ModelError
from core.prolip.checkpoint import FILE
from core.prolip.model.files import write_model
from core.prolip.team import ALONE, joined_team
from core.prolip.train import Run, TrainConfig, groups, reader, steps_of, train
from core.prolip.training_data import plan
from tests.conftest import ROOT
from tests.prolip.pairs import TEXTS, images, untrained, write_pairs

FEW = TrainConfig(steps=6, batch=16, learning_rate=2e-3, warmup=2, seed=3)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs") / "data")


@pytest.fixture
def trainee(tmp_path):
    return untrained(tmp_path / "new")


def weights(out):
    return load_file(out / "model.safetensors")


def logged(out):
    return [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]


def test_a_tiny_model_learns_64_pairs_by_heart(pairs, trainee, tmp_path):
    config = TrainConfig(
        steps=240, batch=64, learning_rate=5e-3, warmup=10, weight_decay=0.0, clip=10.0, smallest_crop=1.0
    )
    trained = train(trainee, open_pairs([pairs]), tmp_path / "out", config)
    assert trained.loss < 1 < logged(tmp_path / "out")[0]["total"]
    encoder = load_encoder(f"local-dir:{tmp_path / 'out'}", "cpu")
    found = encoder.encode_gaussians(torch.stack([encoder.preprocess(image) for image in images(pairs)]))
    best = (found.mean @ encoder.text_gaussians(TEXTS).mean.T).argmax(dim=1)
    assert (best == torch.arange(64)).all()


def test_a_run_that_was_stopped_ends_where_one_that_was_not_does(pairs, trainee, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    stream = open_pairs([pairs])
    train(trainee, stream, whole, FEW)

    def stop(done, total, message):
        if done == 4:
            raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        train(untrained(tmp_path / "again"), stream, parts, FEW, on_progress=stop)
    assert not (parts / "model.safetensors").exists()
    other = untrained(tmp_path / "other", seed=9)  # all of it comes from the checkpoint
    assert train(other, stream, parts, FEW, resume=True).steps == 6
    for name, tensor in weights(whole).items():
        assert torch.equal(tensor, weights(parts)[name]), name


def test_a_finished_run_has_nothing_to_go_on_with(pairs, trainee, tmp_path):
    train(trainee, open_pairs([pairs]), tmp_path / "out", FEW)
    before = weights(tmp_path / "out")
    train(trainee, open_pairs([pairs]), tmp_path / "out", FEW, resume=True)
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(tmp_path / "out").items())


@pytest.mark.parametrize(
    ("resume", "config", "says"),
    [
        (False, FEW, "there already"),
        (True, replace(FEW, learning_rate=1.0), "other settings"),
    ],
)
def test_another_run_does_not_take_a_checkpoint(pairs, trainee, tmp_path, resume, config, says):
    train(trainee, open_pairs([pairs]), tmp_path, FEW)
    with pytest.raises(InputError, match=says):
        train(trainee, open_pairs([pairs]), tmp_path, config, resume=resume)


def test_without_a_whole_checkpoint_a_run_cannot_go_on(pairs, trainee, tmp_path):
    with pytest.raises(InputError, match=r"no .*checkpoint"):
        train(trainee, open_pairs([pairs]), tmp_path, FEW, resume=True)
    (tmp_path / FILE).write_bytes(b"torn")
    with pytest.raises(InputError, match="no checkpoint"):
        train(trainee, open_pairs([pairs]), tmp_path, FEW, resume=True)


def gradient(team, pairs, folder, size=15):
    """Loss and gradients of one batch in float64, each process going through its share."""
    trainee = untrained(folder)
    trainee.model.double()
    config = replace(FEW, batch=size)
    run = Run(trainee.model, torch.optim.AdamW(trainee.model.parameters()), config, team)
    planned = plan(open_pairs([pairs]), size, config.seed)
    batch = next(reader(trainee, config, 1).batches(planned, team.share))
    total = run.loss(replace(batch, pixels=batch.pixels.double())).total
    run.differentiate(total)
    return {"loss": total.detach()} | {name: each.grad for name, each in trainee.model.named_parameters()}


def one_of_a_team(rank, size, port, pairs, folder):
    """Run in a process of its own."""
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(size)}
    os.environ.update(place)
    torch.set_num_threads(1)
    with joined_team("cpu") as team:
        save_file(gradient(team, pairs, folder / f"model {rank}"), folder / f"{rank}.safetensors")


def test_two_processes_have_the_gradient_of_one(pairs, tmp_path):
    """15 pairs in shares of 7 and 8, the masked ones of the batch not in equal parts: the same to rounding."""
    expected = gradient(ALONE, pairs, tmp_path / "model")
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.multiprocessing.spawn(one_of_a_team, (2, port, pairs, tmp_path), nprocs=2)
    for rank in range(2):
        found = load_file(tmp_path / f"{rank}.safetensors")
        for name, tensor in expected.items():
            assert_close(found[name], tensor, atol=1e-12, rtol=1e-9)


def test_torchs_launcher_trains_in_two_processes(pairs, tmp_path):
    """The losses of three steps are those of one process."""
    untrained(tmp_path / "new")
    options = ["train-prolip", "--data", pairs, "--model", tmp_path / "new", "--batch", "15", "--steps", "3"]
    options = [str(each) for each in [*options, "--lr", "0.002", "--warmup", "1", "--device", "cpu"]]
    assert main([*options, "--out", str(tmp_path / "one")]) == 0
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "core"]
    command = [*launcher, *options, "--out", str(tmp_path / "two")]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    one, two = logged(tmp_path / "one"), logged(tmp_path / "two")
    assert [line["step"] for line in two] == [line["step"] for line in one] == [3]
    assert_close([line["total"] for line in two], [line["total"] for line in one], atol=1e-4, rtol=0)
    load_encoder(f"local-dir:{tmp_path / 'two'}", "cpu")


def test_the_rate_rises_in_a_line_and_falls_in_half_a_cosine():
    config = TrainConfig(steps=110, warmup=10, learning_rate=1.0)
    assert [config.rate(step) for step in (0, 4, 9, 10)] == [0.1, 0.5, 1.0, 1.0]
    assert config.rate(60) == pytest.approx(0.5)
    assert 0 < config.rate(109) < 1e-3


def test_only_matrices_decay(trainee):
    decayed, free = groups(trainee.model, 0.2)
    names = {id(tensor): name for name, tensor in trainee.model.named_parameters()}
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.2, 0.0)
    found = {names[id(each)] for each in free["params"]}
    assert {"logit_scale", "logit_bias", "visual.class_embedding", "text.unc_emb", "visual.ln_pre.weight"} <= found
    assert not any(name.endswith(("proj", "in_proj_weight", "conv1.weight")) for name in found)
    assert len(decayed["params"]) + len(free["params"]) == len(names)


@pytest.mark.parametrize("settings", [{"steps": 0}, {"batch": 1}, {"warmup": 7}, {"learning_rate": 0.0}, {"clip": 0.0}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=r"training needs|above 0"):
        replace(FEW, **settings)


def test_a_loss_that_is_no_number_stops_the_run(pairs, trainee, tmp_path):
    with torch.no_grad():
        trainee.model.visual.proj.fill_(float("nan"))
    with pytest.raises(ModelError, match="no number"):
        train(trainee, open_pairs([pairs]), tmp_path, FEW)


def test_the_logit_scale_stays_within_bounds(pairs, trainee, tmp_path):
    with torch.no_grad():
        trainee.model.logit_scale.fill_(9.0)
    train(trainee, open_pairs([pairs]), tmp_path, replace(FEW, steps=1, warmup=0))
    assert weights(tmp_path)["logit_scale"].exp() == pytest.approx(100)


def test_epochs_are_counted_in_steps(pairs):
    assert steps_of(open_pairs([pairs]), 3, 16) == 12
    assert steps_of(open_pairs([pairs]), 1, 999) == 1


@pytest.mark.parametrize("named", ["local-dir:{}", "{}"])
def test_a_run_starts_from_given_weights(pairs, tmp_path, named, capsys):
    start = untrained(tmp_path / "start", seed=4)
    write_model(tmp_path / "start", start.model)
    command = ["train-prolip", "--data", pairs, "--from", named.format(tmp_path / "start"), "--out", tmp_path / "out"]
    command += ["--batch", "8", "--steps", "1", "--lr", "1e-9", "--device", "cpu", "--json"]
    assert main([str(each) for each in command]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 1
    for name, tensor in weights(tmp_path / "out").items():
        assert_close(tensor, start.model.state_dict()[name], atol=1e-6, rtol=0)


def test_the_command_says_what_cannot_be_used(pairs, tmp_path, capsys):
    command = ["train-prolip", "--data", str(pairs), "--model", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    assert "config.json" in capsys.readouterr().err


def test_a_tokenizer_of_another_vocabulary_is_refused(pairs, trainee, tmp_path):
    trainee.model.text.token_embedding = torch.nn.Embedding(5, trainee.model.text.token_embedding.embedding_dim)
    with pytest.raises(ModelError, match="this model knows 5 tokens"):
        train(trainee, open_pairs([pairs]), tmp_path / "out", FEW)
