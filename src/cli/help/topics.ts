/** What `help <topic>` explains; each is a file of `src/help/`. */
export const topics: readonly string[] = [
  'batch',
  'chat',
  'ci',
  'costs',
  'exit-codes',
  'faults',
  'fields',
  'images',
  'library',
  'output',
  'recording',
  'serve',
  'services',
  'settings',
];
