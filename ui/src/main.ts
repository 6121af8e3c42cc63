// The entry: mounts the shell of src/app into the page.
export {};
