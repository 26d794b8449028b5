// What a browser that cannot read the page's scripts shows instead of nothing; written so that any of them reads it.
window.onerror = function(message) {
  var waiting = document.querySelector(".waiting");
  if (waiting)
    waiting.textContent = "This browser cannot show the page (" + message +
      "). Firefox 78, Chrome 86, Safari 16.4 and newer ones can; 'ptxlab report RUN' prints the tables in a terminal.";
};
