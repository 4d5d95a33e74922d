"""A real browser: the machine's Chromium without a window, driven through its own driver."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import override_settings
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
)


@pytest.fixture(scope="session", autouse=True)
def no_collected_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """WhiteNoise warns when nobody has run collectstatic; the live server brings the files itself."""
    with override_settings(STATIC_ROOT=str(tmp_path_factory.mktemp("static"))):
        yield


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[webdriver.Chrome]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if not program or not driver:
        pytest.skip("needs Chromium and chromedriver on the PATH (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in (*QUIET, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(argument)
    window = webdriver.Chrome(options=options, service=Service(driver))
    window.implicitly_wait(10)
    yield window
    window.quit()
