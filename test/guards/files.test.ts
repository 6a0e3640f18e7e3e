import { savingGuards } from './files-saving.ts';
import { terminalGuards } from './files-terminal.ts';
import { guards } from './guard.ts';
import { rows } from './rows.ts';

const all = { ...terminalGuards, ...savingGuards };

guards('2c', Object.fromEntries(rows['2c'].map((row) => [row, all[row]])));
