/** Whether a key press can be a shortcut: no modifier is held, nobody is typing, no dialog is open. */
export function isShortcut(event: KeyboardEvent): boolean {
  const { target } = event;
  const typing = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
  return !event.defaultPrevented && !event.ctrlKey && !event.metaKey && !event.altKey && !typing && !document.querySelector('dialog[open]');
}
