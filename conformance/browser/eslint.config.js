// How the program of the page is checked: each file as the module that it is.
export default [
  {
    files: ["**/*.js"],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: "module",
      globals: Object.fromEntries(
        ["document", "location", "history", "addEventListener", "localStorage", "requestAnimationFrame", "cancelAnimationFrame", "setTimeout", "clearTimeout", "scrollTo", "ResizeObserver", "URLSearchParams"].map((name) => [name, "readonly"]),
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
