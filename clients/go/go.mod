module github.com/mock-kafka/mock-kafka/clients/go

go 1.23
