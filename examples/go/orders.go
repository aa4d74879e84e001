// Package orders is a small service: it stores orders, and writes an invoice for each of them.
package orders

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Order struct {
	ID       int `json:"id"`
	Price    int `json:"price"`
	Quantity int `json:"quantity"`
}

type Invoice struct {
	Order int `json:"order"`
	Total int `json:"total"`
}

type Service struct{ client *kgo.Client }

// New connects to the brokers with these addresses, with further options of the client.
func New(seeds []string, options ...kgo.Opt) (*Service, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumerGroup("invoicing"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	}, options...)...)
	return &Service{client}, err
}

// Place stores an order and waits for the acknowledgement.
func (s *Service) Place(ctx context.Context, order Order) error {
	return s.write(ctx, "orders", order)
}

// WriteInvoices reads at least this many orders, writes their invoices and commits the offsets.
func (s *Service) WriteInvoices(ctx context.Context, count int) error {
	for count > 0 {
		fetches := s.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			var order Order
			if err := json.Unmarshal(record.Value, &order); err != nil {
				return err
			}
			invoice := Invoice{order.ID, order.Price * order.Quantity}
			if err := s.write(ctx, "invoices", invoice); err != nil {
				return err
			}
			count--
		}
	}
	return s.client.CommitUncommittedOffsets(ctx)
}

func (s *Service) Close() { s.client.Close() }

func (s *Service) write(ctx context.Context, topic string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: encoded}).FirstErr()
}
