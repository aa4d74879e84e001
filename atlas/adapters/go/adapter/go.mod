module mockkafka.test/adapter

go 1.26.0
