// Lint rules of the page: the recommended sets, without the rules that Svelte 5 or the compiler's strict mode make needless.

import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import { defineConfig, globalIgnores } from 'eslint/config';
import globals from 'globals';
import ts from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['shots', 'bench/cytoscape', 'bench/out', 'src/api/shapes.ts', 'src/api/events.ts']),
  js.configs.recommended,
  ts.configs.recommended,
  svelte.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      // The compiler knows every name, and says it better.
      'no-undef': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `(void stamp, value)` is how a derived value says what else it depends on.
      'no-sequences': 'off',
      '@typescript-eslint/no-unused-expressions': 'off',
      // Lists that never change order need no key, `{' '}` keeps a space that Svelte would drop, and not every Map is state.
      'svelte/require-each-key': 'off',
      'svelte/no-useless-mustaches': 'off',
      'svelte/prefer-svelte-reactivity': 'off',
      // svelte-check knows more of them.
      'svelte/no-unused-svelte-ignore': 'off',
      // Links are plain addresses: there is no SvelteKit here.
      'svelte/no-navigation-without-resolve': 'off',
    },
  },
  { files: ['**/*.svelte', '**/*.svelte.ts'], languageOptions: { parserOptions: { parser: ts.parser } } },
);
