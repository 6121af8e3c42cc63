// The entry point: loads the styles, then mounts the application shell.
import './style/tokens.css';
import './style/base.css';
import { mount } from 'svelte';
import App from './app/App.svelte';

mount(App, { target: document.body });
