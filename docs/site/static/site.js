// What the theme leaves out: names of its parts, levels of headings, and a way to scroll code by keys.
for (const [part, name] of [['.sidebar-drawer', 'Pages'], ['.toc-drawer', 'On this page']]) {
  document.querySelector(part)?.setAttribute('aria-label', name);
}
for (const caption of document.querySelectorAll('p.caption[role=heading]')) {
  caption.ariaLevel = '2';
}
for (const code of document.querySelectorAll('pre')) {
  code.tabIndex = 0;
}

// Fills the choice of versions. The list is beside the folders of the versions, and a script, so that it
// can be read from a file, too.
const root = document.documentElement.dataset.content_root;
const list = document.createElement('script');
list.src = `${root}../versions.js`;
list.addEventListener('load', () => {
  const here = new URL(location.href);
  const folder = new URL(root, here);
  const name = folder.pathname.split('/').at(-2);
  const page = here.pathname.slice(folder.pathname.length) || 'index.html';
  const versions = window.documentationVersions;
  const label = document.querySelector('.version-choice');
  const choice = label.querySelector('select');
  const current = name in versions ? name : Object.keys(versions)[0];
  for (const version of Object.keys(versions)) {
    choice.add(new Option(version, version, false, version === current));
  }
  choice.addEventListener('change', () => {
    const target = versions[choice.value].includes(page) ? page : 'index.html';
    location.assign(new URL(`../${choice.value}/${target}`, folder));
  });
  label.hidden = Object.keys(versions).length < 2;
});
document.head.append(list);
