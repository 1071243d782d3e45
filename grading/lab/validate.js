// nbgrader's dialog claims "all the tests" when the tests in the notebook pass, and has no setting for it.
// This JupyterLab extension, written as the bundle that a build would make, puts the course's sentence there.
const plugin = {
  id: "layernorm-course:validate",
  autoStart: true,
  activate() {
    const { validationPassed } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
    const say = () => {
      const verdict = document.querySelector(".validation-success p");
      if (verdict && validationPassed) verdict.textContent = validationPassed;
    };
    new MutationObserver(say).observe(document.body, { childList: true });
  },
};
(window._JUPYTERLAB ??= {})["layernorm-course"] = { init() {}, get: async () => () => plugin };
