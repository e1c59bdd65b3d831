"""A text with every block that Markdown knows, for the tests of parsing and of splitting."""

SAMPLE = """# Title
Text **b** <b>raw</b> and `a  <b`.

1. one
   ```bash
   pip install x
   ```
   after
2. two
   - nested
     ```py
     x
     ```
3. three

> quote
> ```
> inside
> ```
> more

| a | b |
|---|:-:|
| 1 | 2 |

Setext
======

- loose

- list

  with a paragraph

```python
def unclosed():
    pass
"""
