"""Which nodes of a merged tree are copied: nothing said of a node may be false."""

from __future__ import annotations

from dataclasses import replace

from app.tree.copied import is_estimate, joined, node_origin
from app.tree.facts import node_facts
from app.tree.table import COLUMNS, node_cells


def test_copied_nodes_of_a_merged_tree_are_told_apart(merged):
    """A probability reckoned from a match of three is 3/4 to the last digit; a head never gives that."""
    assert [n.id for n in merged.nodes if is_estimate(merged, n)] == [1, 3, 8]
    assert joined(merged) == {3, 8}, "the head had the first token of the chain as well"


def test_card_and_table_name_each_nodes_drafter(merged):
    """An estimate is called one, and only where it is one."""
    for node in merged.nodes[1:]:
        copied = node.id in (1, 3, 8)
        facts = dict(node_facts(merged, node))
        assert facts["drafted by"] == ("copied text" if copied else "the draft head")
        assert ("an estimate" in facts["draft p"]) == copied
        assert node_cells(merged, node)[COLUMNS.index("drafted by")] == facts["drafted by"]


def test_other_rounds_have_one_drafter(shown, copied, plain):
    """Half a probability of a head may look like an estimate; only merged trees are searched for one."""
    assert joined(shown) == joined(copied) == joined(plain) == frozenset()
    assert {node_origin(shown, n) for n in shown.nodes} == {"the draft head"}
    assert {node_origin(copied, n) for n in copied.nodes} == {"copied text"}
    assert node_origin(replace(shown, drafted_by="unknown"), shown.nodes[1]) == ""
