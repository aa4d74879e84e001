"""KIP-936's own stories: what producer ids without end do to a broker, and what the quota does.

`growth.py` plays the three kinds of clients that make too many, `cascade.py` the six brokers of
rejected alternative 4, `steady_id.py` rejected alternative 8. `quick_producer.py` is a producer
without the library around it, for the multitudes; `growth_picture.py` and the like draw.
"""
