import time, asyncio, pytest
from uuid import uuid4
from tests.tabs import browser, session_of
from tests.scenes import make_person
@pytest.fixture
def sess(): return session_of(make_person())
@pytest.mark.django_db(transaction=True, databases=["default", "owner"])
async def test_x(sess):
    t=time.time()
    async with browser() as open_tab:
        for who in (sess, "forged"*5, None):
            tab = await open_tab(who, uuid4())
            print("open", time.time()-t)
            await tab.next(); print("1", time.time()-t)
            await tab.next(); print("2", time.time()-t, tab.closed)
            await tab.close(); print("closed", time.time()-t, tab.closed)
        strange = await open_tab(sess, uuid4(), origin="https://elsewhere.example")
        print("strange", time.time()-t)
        await strange.close(); print("closed", time.time()-t, tab.closed)
    print("all", time.time()-t)
