export type * from './admin_operations.js';
export { MockKafkaError, WaitTimeoutError } from './admin_port.js';
export type * from './admin_schema.js';
export { StartError, type StartOptions } from './cluster_command.js';
export { MockKafka } from './mock_kafka.js';
export { Fault, Hold } from './port_methods.js';
export type { Bytes, NewRecord } from './records.js';
