import { batchOf, collectedBatch, pictureBatch, replayedBatch, sharedFiles } from './batches.js';
import { called } from './called.js';
import { ended } from './ended.js';
import { gallery } from './gallery.js';
import { loaded } from './loaded.js';
import { tarball } from './packed.js';
import { bigEdit, fourPictures, pictures } from './pictures.js';
import { recorded } from './recordings.js';
import { largeSessions, smallSessions } from './sessions.js';
import { paidBy, sharedBy } from './sharing.js';
import { delayAt, firstDelta, manyDeltas, oneText, startOf } from './words.js';

/** All experiments, by the names that rows know them by. @type {Record<string, import('./experiment.js').Experiment>} */
export const experiments = {
  version: startOf('--version'),
  help: startOf('--help'),
  text: oneText,
  first: firstDelta,
  deltas: manyDeltas,
  'delay-2000': delayAt(2000),
  'delay-10000': delayAt(10_000),
  'images-1': pictures(1, 3),
  'images-4': fourPictures,
  'images-8': pictures(8, 3),
  edit: bigEdit,
  'batch-2000': batchOf(2000, 13),
  'batch-20000': batchOf(20_000, 1),
  'batch-images': pictureBatch,
  'collected-1000': collectedBatch(1000),
  'collected-5000': collectedBatch(5000),
  'collected-20000': collectedBatch(20_000),
  'replayed-200': replayedBatch(200),
  'replayed-2000': replayedBatch(2000),
  'replayed-20000': replayedBatch(20_000),
  'recorded-200': recorded(200),
  'recorded-2000': recorded(2000),
  'recorded-20000': recorded(20_000),
  'shared-1': sharedBy(1),
  'shared-8': sharedBy(8),
  'shared-30': sharedBy(30),
  'ledger-100': paidBy(100),
  'ledger-200': paidBy(200),
  'ledger-400': paidBy(400),
  'files-200': sharedFiles(200),
  'files-2000': sharedFiles(2000),
  'files-20000': sharedFiles(20_000),
  'ended-1000': ended(1000),
  'ended-10000': ended(10_000),
  'ended-100000': ended(100_000),
  'ended-1000000': { ...ended(1_000_000), rounds: 1 },
  'whole-1000': loaded(1000, 'whole'),
  'whole-4000': loaded(4000, 'whole'),
  'whole-16000': loaded(16_000, 'whole'),
  'streamed-1000': loaded(1000, 'streamed'),
  'streamed-4000': loaded(4000, 'streamed'),
  'streamed-16000': loaded(16_000, 'streamed'),
  'called-50': called(50),
  'called-200': called(200),
  'called-500': called(500),
  sessions: largeSessions,
  'sessions-50': smallSessions(50),
  'sessions-500': smallSessions(500),
  'sessions-5000': smallSessions(5000),
  gallery,
  tarball,
};
