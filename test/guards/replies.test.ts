import { type Guard, guards } from './guard.ts';

const none: readonly Guard[] = [];

guards('2b', {
  'huge body': none,
  'decompression bomb': none,
  'giant SSE line': none,
  'endless stream': none,
  'last event lacks the blank line': none,
  'UTF-8 split, BOM': none,
  'event: error after 200': none,
  'JSON broken': none,
  'deep JSON': none,
  Base64: none,
  'mime and bytes disagree': none,
  blocked: none,
  MAX_TOKENS: none,
  'count differs': none,
  'error body holds our key': none,
});
