// The page around an extension, as Argo CD documents it (docs/developer-guide/extensions,
// ui/src/app/shared/services/extensions-service.ts): the globals, the five functions to
// register with, and what their components get.
"use strict";
window.registered = { statusPanel: [], appView: [] };
const refuse = () => { throw new Error("the extension registers for a place that it does not document"); };
window.extensionsAPI = {
  registerResourceExtension: refuse,
  registerSystemLevelExtension: refuse,
  registerTopBarActionMenuExt: refuse,
  registerStatusPanelExtension: (component, title, id, flyout) => window.registered.statusPanel.push({ component, title, id, flyout }),
  registerAppViewExtension: (component, title, icon, shouldDisplay) => window.registered.appView.push({ component, title, icon, shouldDisplay: shouldDisplay || (() => true) }),
};
Date.now = () => Date.parse("2026-03-01T10:14:30Z");

// start draws the details page of an Application; show updates it as the host's streams do.
window.start = (theme, at) => {
  const h = React.createElement;
  const [panel, view] = [window.registered.statusPanel[0], window.registered.appView[0]];
  function Details() {
    const [{ application, tree }, show] = React.useState(at);
    const [flyout, setFlyout] = React.useState(false);
    window.show = show;
    return h("div", { className: `theme-${theme}` }, h("main", null, h("h1", { className: "unseen" }, "Details"),
      h("div", { className: "application-status-panel row" }, h(panel.component, { application, openFlyout: () => setFlyout(true) })),
      view.shouldDisplay(application) && h("div", { id: "view" }, h(view.component, { application, tree })),
      flyout && h("div", { id: "flyout" }, h(panel.flyout, { application, tree }))));
  }
  const root = document.getElementById("app");
  if (ReactDOM.createRoot) ReactDOM.createRoot(root).render(h(Details));
  else ReactDOM.render(h(Details), root);
};
