from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from compared import asking, model
from curved import FLAT, QUICK, RISING, labelled, learner
from simulated import simulated_lm

from active_critic.errors import FitError
from active_critic.meta_evaluation.curve_plot import HEIGHT, WIDTH, curve_svg
from active_critic.meta_evaluation.curves import curve

SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_shows_every_point_higher_where_agreement_is() -> None:
    found = curve(labelled(120), RISING, simulated_lm(), **QUICK)
    root = ElementTree.fromstring(curve_svg(found))
    assert root.tag == f"{SVG}svg"
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter(f"{SVG}circle")]
    assert len(dots) == 3
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert dots[1][0] - dots[0][0] == pytest.approx(dots[2][0] - dots[1][0], abs=0.2)  # doublings are equally far
    by_height = sorted(range(3), key=lambda i: -dots[i][1])
    assert by_height == sorted(range(3), key=lambda i: found.points[i].mean.value)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"5", "10", "20", "zero-shot", "surface floor", "mine", "labels fitted on"} <= set(texts)
    assert found.words[-1] in root.find(f"{SVG}desc").text
    for line in root.iter(f"{SVG}polyline"):
        for x, y in (dot.split(",") for dot in line.get("points").split()):
            assert 0 <= float(x) <= WIDTH
            assert 0 <= float(y) <= HEIGHT
    assert not re.search(r"href|url\(|<script|<style|<image", curve_svg(found))


def test_names_that_are_no_xml_are_shown_as_they_can_be() -> None:
    found = curve(labelled(), FLAT, model(), **QUICK)
    root = ElementTree.fromstring(curve_svg(replace(found, evaluator='a<b>&"c"\x1b\x00')))
    assert any(text.text.startswith('a<b>&"c"') for text in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("sizes", [[5], [5, 10, 20]])
def test_points_without_a_coefficient_are_left_out(sizes) -> None:
    def fails(data):
        if len(data) == 10:
            raise FitError("no")

    found = curve(labelled(), learner(lambda labels: 1.0, fails=fails), model(), **{**QUICK, "sizes": sizes})
    root = ElementTree.fromstring(curve_svg(found))
    assert len(list(root.iter(f"{SVG}circle"))) == len([size for size in sizes if size != 10])
    nothing = curve(labelled(), {"never": asking(mark=lambda example: "odd")}, model(), **{**QUICK, "sizes": sizes})
    root = ElementTree.fromstring(
        curve_svg(replace(nothing, points=tuple(replace(p, floor=None) for p in nothing.points)))
    )
    assert not list(root.iter(f"{SVG}circle"))
    assert "nan" not in curve_svg(nothing)
