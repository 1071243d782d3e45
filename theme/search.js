// How Sphinx's search sorts what it found: chapters come before reference pages, unless a page is asked for by its name.
var Scorer = {
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, title, , , score]) => {
    const asked = new URLSearchParams(location.search).get("q").trim().toLowerCase();
    const named = title.split(" > ")[0].toLowerCase().includes(asked); // the rest is a section
    return named || !/(notation|errata|instructors|checks)$/.test(page) ? score : score / 10;
  },
};
