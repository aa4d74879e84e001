"""The client's end of a simulated connection, as a transport of asyncio."""

import asyncio

from mock_kafka.simulated_world import SimulatedWorld, simulate


def test_its_limits_addresses_and_state_are_those_of_a_transport() -> None:
    async def main(world: SimulatedWorld) -> None:
        loop = asyncio.get_running_loop()
        protocol = asyncio.Protocol()
        transport, found = await loop.create_connection(lambda: protocol, "broker-1", 9092)
        assert found is protocol is transport.get_protocol()
        assert transport.get_extra_info("peername") == ("broker-1", 9092)
        assert transport.get_extra_info("socket", "none") == "none"
        transport.set_write_buffer_limits(high=400)
        assert transport.get_write_buffer_limits() == (100, 400)
        transport.set_write_buffer_limits()
        assert transport.get_write_buffer_limits() == (16_384, 65_536)
        assert transport.is_reading()
        transport.pause_reading()
        assert not transport.is_reading()
        transport.resume_reading()
        assert transport.can_write_eof()
        transport.set_protocol(asyncio.Protocol())
        transport.abort()
        assert transport.is_closing()
        transport.write(b"lost")
        assert transport.get_write_buffer_size() == 0

    simulate(main)
