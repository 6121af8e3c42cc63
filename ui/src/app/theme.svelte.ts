// The theme: light, dark, or the system's. Canvases listen for `pleach:theme`, because CSS does not repaint them.

export type Choice = 'auto' | 'light' | 'dark';
const KEY = 'pleach.theme';
export const THEMES: { choice: Choice; label: string }[] = [
  { choice: 'auto', label: 'as the system' },
  { choice: 'light', label: 'light' },
  { choice: 'dark', label: 'dark' },
];

function stored(): Choice {
  const value = localStorage.getItem(KEY);
  return value === 'light' || value === 'dark' ? value : 'auto';
}

class Theme {
  choice = $state<Choice>(stored());

  constructor() {
    this.put();
  }

  set(choice: Choice): void {
    this.choice = choice;
    if (choice === 'auto') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
    this.put();
    document.dispatchEvent(new CustomEvent('pleach:theme'));
  }

  private put(): void {
    if (this.choice === 'auto') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.choice;
  }
}

export const theme = new Theme();
