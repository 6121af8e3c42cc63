'use strict';
// A code left in the address was used already, or another site's page led here: people decide.
const form = document.getElementById('login');
const token = document.getElementById('token');
const said = document.getElementById('said');
const asked = new URLSearchParams(location.search);
const code = asked.get('code');
// Back to where they were, on this server only.
const next = new URL(asked.get('next') ?? '/', location.origin);
history.replaceState(null, '', location.pathname);

if (code) {
  token.required = false;
  token.placeholder = 'or press Log in to use the link you followed';
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  said.textContent = '';
  const given = token.value.trim();
  const answer = await fetch('/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(given ? { token: given } : { code }),
  }).catch(() => null);
  if (answer && answer.ok) return location.replace(next.origin === location.origin ? next.href : '/');
  const problem = answer ? await answer.json().catch(() => null) : null;
  said.textContent = problem ? problem.detail : 'The server does not answer. Is `pleach up` running?';
});
