/** Whether this is `npm run test:full`: campaigns are long, and no tool may be missing. */
export const isFull = process.env['GATEWAY_CLI_TEST_FULL'] === '1';
