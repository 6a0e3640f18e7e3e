// The server of MCP: calls of a tool, each of which is a command in a process of its own.
import { bareNode } from './experiment.js';

/** @param {number} calls @returns {import('./experiment.js').Experiment} */
export function called(calls) {
  return {
    rounds: 1,
    command: 'mcp',
    memory: true,
    sides: {
      product: async (lab) =>
        JSON.parse((await lab.script('called.js', [String(calls), process.execPath, lab.bin, 'mcp'])).stdout),
      bare: (lab) => bareNode(lab, true),
    },
  };
}
