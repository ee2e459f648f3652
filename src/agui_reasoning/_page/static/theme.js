// Applies the chosen theme before the page is drawn. A classic script, because modules run too late for that.
(() => {
  try {
    const theme = localStorage.getItem("agui-reasoning:theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // without storage, the theme is that of the system
  }
})();
