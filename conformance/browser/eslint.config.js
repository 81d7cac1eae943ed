// How the programs of pages are checked: as modules, which the extension of Argo CD, a script,
// could be too.
export default [
  {
    files: ["**/*.js"],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: "module",
      globals: Object.fromEntries(
        ["window", "document", "location", "history", "addEventListener", "localStorage", "requestAnimationFrame", "cancelAnimationFrame", "setTimeout", "clearTimeout", "scrollTo", "ResizeObserver", "URLSearchParams"].map((name) => [name, "readonly"]),
      ),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "error",
      "no-unused-vars": "error",
      "no-redeclare": "error",
      "no-shadow": ["error", { allow: ["link", "item", "step", "row"] }],
      "no-unreachable": "error",
      "no-dupe-keys": "error",
      "no-self-compare": "error",
      "no-unused-expressions": "error",
      "no-restricted-properties": ["error", ...["innerHTML", "outerHTML", "insertAdjacentHTML", "write"].map((property) => ({ property }))],
      "prefer-const": "error",
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-var": "error",
    },
  },
];
