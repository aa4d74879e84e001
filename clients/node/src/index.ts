export { MockKafkaError, WaitTimeoutError } from './admin_port.js';
export type * from './admin_schema.js';
export { StartError, type StartOptions } from './cluster_command.js';
export { Fault, Hold, type When } from './fault.js';
export type { Api, KafkaError, Request, RequestFilter } from './journal.js';
export { MockKafka, type QuotaEntity, type QuotaValues } from './mock_kafka.js';
export type { Bytes, NewRecord, StoredRecord } from './records.js';
