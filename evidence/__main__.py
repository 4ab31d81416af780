"""`python -m evidence`: every figure and table of the evidence, from the files in results/."""

from evidence.figures import draw_all
from evidence.pages import PAGES, ROOT, fill_all

if __name__ == "__main__":
    for figure in draw_all():
        print(f"Figure: {figure.relative_to(ROOT)}")
    fill_all()
    for page in PAGES:
        print(f"Page: {page.relative_to(ROOT)}")
