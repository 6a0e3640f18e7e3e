import type { Ui } from '../../cli/context.ts';
import { resultDocument } from '../../cli/output/document.ts';
import { emptyReport } from '../../cli/output/log.ts';
import type { GatewayError } from '../../errors.ts';
import type { JobOutcome } from '../types.ts';

/** The outcome of a job of which nothing is known but its id: it may have been billed. */
export function bareOutcome(error: GatewayError, ui: Ui): JobOutcome {
  const document = resultDocument(emptyReport('batch run'), { error, durationMs: 0, redaction: ui });
  const told = { class: error.class, message: ui.redact(error.message), billed: error.billed };
  return { state: 'unknown', document, error: told };
}
