export { startGateway } from './start.ts';
export { useGateway } from './use.ts';
export type {
  Answer,
  Answers,
  Gateway,
  GatewayOptions,
  Hooks,
  PromptAnswer,
  ReceivedRequest,
  Script,
} from './testing-types.ts';
