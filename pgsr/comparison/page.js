const tip = document.createElement("div");
tip.id = "tip";
document.querySelector(".compare").append(tip);
const hide = () => (tip.style.display = "none");
for (const title of document.querySelectorAll("svg title")) {
  const item = title.parentNode, words = title.textContent;
  title.remove();
  const show = (at) => {
    tip.textContent = words;
    tip.style.display = "block";
    const low = at.clientY + 18 + tip.offsetHeight > innerHeight;
    tip.style.left = Math.max(6, Math.min(at.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = (low ? at.clientY - tip.offsetHeight - 12 : at.clientY + 18) + "px";
  };
  item.addEventListener("pointermove", show);
  item.addEventListener("pointerdown", show);
  item.addEventListener("pointerleave", hide);
}
addEventListener("scroll", hide, { passive: true });
