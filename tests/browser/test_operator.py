"""What an operator does at night, in a browser: find the dead letter, read why, redrive it, see that it went."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from deliveries.models import Operation, Resolution
from deliveries.statuses import Status
from tests.factories import make_dead_letter, make_endpoint

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("empty_redis")]

PASSWORD = "night-shift-7"


@pytest.fixture
def signed_in(browser: Chrome, live_server: Any) -> Chrome:
    User.objects.create_superuser("nora", password=PASSWORD)
    browser.get(f"{live_server.url}/")
    browser.find_element(By.NAME, "username").send_keys("nora")
    browser.find_element(By.NAME, "password").send_keys(PASSWORD)
    browser.find_element(By.CSS_SELECTOR, "input[type=submit]").click()
    browser.find_element(By.LINK_TEXT, "Dead letters")
    return browser


def test_an_operator_finds_a_dead_letter_and_redrives_it(signed_in: Chrome):
    letter = make_dead_letter(data={"order": "ord_91"})

    signed_in.find_element(By.LINK_TEXT, "Dead letters").click()
    signed_in.find_element(By.LINK_TEXT, str(letter.pk)).click()
    assert '"order": "ord_91"' in signed_in.find_element(By.TAG_NAME, "body").text
    signed_in.find_element(By.XPATH, "//ul[@class='object-tools']//button[text()='Redrive']").click()
    signed_in.find_element(By.NAME, "note").send_keys("They fixed it.")
    signed_in.find_element(By.CSS_SELECTOR, "input[value='Redrive them']").click()

    said = signed_in.find_element(By.CSS_SELECTOR, ".messagelist .success").text
    assert said.startswith("1 dead letter redriven")
    letter.refresh_from_db()
    assert letter.resolution == Resolution.REDRIVEN
    assert letter.delivery.status == Status.PENDING
    assert (Operation.objects.get().actor, Operation.objects.get().note) == ("nora", "They fixed it.")


def test_an_operator_discards_what_is_ticked_in_the_list_and_must_say_why(signed_in: Chrome):
    letters = [make_dead_letter(make_endpoint(tenant=name)) for name in ("a", "b", "c")]

    signed_in.find_element(By.LINK_TEXT, "Dead letters").click()
    for letter in letters[:2]:
        signed_in.find_element(By.CSS_SELECTOR, f"input.action-select[value='{letter.pk}']").click()
    Select(signed_in.find_element(By.NAME, "action")).select_by_visible_text("Discard")
    signed_in.find_element(By.CSS_SELECTOR, ".actions button").click()
    note = signed_in.find_element(By.NAME, "note")
    assert note.get_attribute("required")
    note.send_keys("Their test account.")
    signed_in.find_element(By.CSS_SELECTOR, "input[value='Discard them']").click()

    said = signed_in.find_element(By.CSS_SELECTOR, ".messagelist .success").text
    assert said.startswith("2 dead letters discarded")
    left = [row.text for row in signed_in.find_elements(By.CSS_SELECTOR, "#result_list th.field-row")]
    assert left == [str(letters[2].pk)]


def test_the_endpoint_filter_finds_an_endpoint_as_it_is_typed(signed_in: Chrome):
    make_dead_letter(make_endpoint(tenant="a", description="Acme order desk"))
    wanted = make_dead_letter(make_endpoint(tenant="b", description="Northwind CRM"))

    signed_in.find_element(By.LINK_TEXT, "Dead letters").click()
    signed_in.find_element(By.CSS_SELECTOR, "#changelist-filter .select2-selection").click()
    signed_in.find_element(By.CSS_SELECTOR, ".select2-search__field").send_keys("northwind")
    signed_in.find_element(By.XPATH, f"//li[contains(., '#{wanted.endpoint_id} ')]").click()
    signed_in.find_element(By.CSS_SELECTOR, "#changelist-filter input[type=submit]").click()

    signed_in.find_element(By.XPATH, "//p[contains(@class, 'paginator')][contains(., '1 dead letter')]")
    assert signed_in.find_element(By.CSS_SELECTOR, "#result_list th.field-row").text == str(wanted.pk)
