import { printPrebuilt } from './prebuilt-text.ts';

if (!printPrebuilt(process.argv.slice(2))) void import('./program.ts');
