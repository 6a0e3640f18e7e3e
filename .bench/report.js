// The outcome as a table or as one JSON document.
import { cpus, loadavg } from 'node:os';

/** @typedef {import('./rows.js').Row} Row */
/** @typedef {import('./rows.js').Unit} Unit */
/**
 * @typedef {object} Outcome
 * @property {Row} row
 * @property {'hold' | 'short' | 'skipped'} verdict
 * @property {import('./rows.js').Figures} [figures]
 * @property {string} [why] it was skipped
 */

const heads = ['row', 'what', 'product', 'against', 'measured', 'at most', 'verdict', ''];

/** @param {Outcome[]} outcomes */
export function table(outcomes) {
  const lines = [heads, ...outcomes.map(cells)];
  const widths = heads.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const text = lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${text.join('\n')}\n${machine()}\n${busyNote()}`;
}

/** A line by itself. @param {Outcome} outcome */
export function describe(outcome) {
  return `${cells(outcome).join('  ').trimEnd()}\n`;
}

/** @param {Outcome} outcome */
function cells({ row, verdict, figures, why }) {
  if (!figures) return [row.id, row.what, '', row.against, '', '', verdict, why ?? ''];
  const target = amount(row.atMost(figures), row.unit);
  const rival = Number.isNaN(figures.rival) ? row.against : `${row.against} ${amount(figures.rival, row.raw)}`;
  return [
    row.id,
    row.what,
    amount(figures.product, row.raw),
    rival,
    amount(figures.value, row.unit),
    target,
    verdict,
    figures.also ?? '',
  ];
}

/** @param {number} value @param {Unit} unit */
function amount(value, unit) {
  if (unit === 'x') return `${value.toFixed(2)}x`;
  if (unit === 'packages') return String(value);
  return `${value.toFixed(value < 10 ? 1 : 0)} ${unit}`;
}

/** Ratios bear other programs better than times do, but not well. The bench itself keeps about one processor busy. */
function busyNote() {
  const [load = 0] = loadavg();
  return load > 1.5
    ? `The machine was busy with other work (load ${load.toFixed(1)}): run it again on a quiet one.\n`
    : '';
}

function machine() {
  return `Node ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown'}, ${process.platform} ${process.arch}`;
}

/** @param {Outcome[]} outcomes */
export function json(outcomes) {
  const rows = outcomes.map(({ row: { id, what, against, unit, raw, atMost }, verdict, figures, why }) => ({
    id,
    what,
    against,
    unit,
    raw,
    verdict,
    ...(figures && { ...figures, atMost: atMost(figures) }),
    why,
  }));
  return `${JSON.stringify({ schema: 'gateway-cli/bench@1', node: process.versions.node, machine: machine(), rows })}\n`;
}
