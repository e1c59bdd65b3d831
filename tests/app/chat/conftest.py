import pytest

from app.chat.conversation import ConversationView
from app.chat.pane import ChatPane
from app.selection import Selection
from app.store import Store
from app.writer import Writer
from tests.app.chat.chat_help import Engine


@pytest.fixture
def writer(qapp: object) -> Writer:
    """What writes to the store."""
    made = Writer()
    yield made
    assert made.close(5)


@pytest.fixture
def selection(qapp: object) -> Selection:
    """A selection that shows nothing."""
    return Selection()


@pytest.fixture
def pane(qtbot, store: Store, writer: Writer, selection: Selection) -> ChatPane:
    """A shown chat pane on an empty chat."""
    made = ChatPane(store, writer, selection)
    qtbot.addWidget(made)
    qtbot.addWidget(made.settings)
    made.resize(700, 600)
    with qtbot.waitExposed(made):
        made.show()
    made.read_chat(store.chats.new().id)
    made.show_chat()
    return made


@pytest.fixture
def engine(pane: ChatPane, store: Store) -> Engine:
    """The other side of the pane."""
    return Engine(pane, store)


@pytest.fixture
def view(selection: Selection, on_screen) -> ConversationView:
    """A shown conversation, empty."""
    return on_screen(ConversationView(selection), 640, 500)
