import { answerAtOnce } from './terminal/at-once.ts';

if (!answerAtOnce(process.argv.slice(2))) void import('./program.ts');
