// Asks the browser for a passkey and sends its answer with a form of the page. Without it those forms stay hidden.
{
  /** A browser answers one question at a time. */
  let pending = new AbortController();

  async function ask(form, mediation) {
    pending.abort();
    pending = new AbortController();
    const { signal } = pending;
    const options = JSON.parse(form.dataset.options);
    const isNew = form.dataset.passkey === 'create';
    const credential = isNew
      ? await navigator.credentials.create({
          publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
          signal,
        })
      : await navigator.credentials.get({
          publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options),
          signal,
          mediation,
        });
    form.elements.response.value = JSON.stringify(credential.toJSON());
    form.submit();
  }

  /** The person closed the dialog, has no passkey for us, or asked in another way: the page stays as it is. */
  const giveUp = () => undefined;

  // Older browsers have WebAuthn, but neither of these.
  const knowsJson =
    'PublicKeyCredential' in globalThis && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

  for (const note of document.querySelectorAll('[data-no-passkey]')) note.hidden = knowsJson;

  for (const form of knowsJson ? document.querySelectorAll('form[data-passkey]') : []) {
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      ask(form).catch(giveUp);
    });
    if ('conditional' in form.dataset) {
      PublicKeyCredential.isConditionalMediationAvailable?.()
        .then((isAvailable) => isAvailable && ask(form, 'conditional'))
        .catch(giveUp);
    }
  }
}
