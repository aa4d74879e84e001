// The same package from CommonJS.
import kafka = require('mock-kafka');
import jest = require('mock-kafka/jest');

const shared: kafka.MockKafka = jest.mockKafka({ client: '@platformatic/kafka' });
export const lag: Promise<Record<string, number>> = shared.lag('billing');
