// How Sphinx's search sorts what it found: chapters come before reference pages, unless these are asked for by name.
var Scorer = {
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, , , , score]) =>
    score <= Scorer.title && /(notation|errata|instructors|checks)$/.test(page) ? score / 10 : score, // a page's own name gets more
};
