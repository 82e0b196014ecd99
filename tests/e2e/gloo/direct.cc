// Gloo without PyTorch: collectives of all ranks, whose context has no name, and of a pair.
// direct late|mismatch|timeout|wide|ok: how rank 1 behaves at the end; wide: with elements larger than any type of C.
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <unistd.h>

using Context = std::shared_ptr<gloo::Context>;

static Context meet(const char *prefix, gloo::rendezvous::Store &store, int rank, int size)
{
    gloo::transport::tcp::attr where;
    where.hostname = "127.0.0.1";
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(where);
    gloo::rendezvous::PrefixStore own(prefix, store);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->connectFullMesh(own, device);
    return context;
}

static void allreduce(const Context &context, size_t n)
{
    std::vector<float> data(n, 1);
    gloo::AllreduceOptions options(context);
    options.setOutput(data.data(), n);
    options.setReduceFunction([](void *a, const void *b, const void *c, size_t n) { gloo::sum<float>(a, b, c, n); });
    gloo::allreduce(options);
    if (data[0] != context->size)
        std::cout << "wrong sum " << data[0] << std::endl;
}

template <class Options> static void fill(Options &options, std::vector<float> &in, std::vector<float> &out)
{
    if (!in.empty())
        options.setInput(in.data(), in.size());
    if (!out.empty())
        options.setOutput(out.data(), out.size());
}

static void call_each(const Context &context)
{
    const size_t rank = (size_t)context->rank, size = (size_t)context->size;
    std::vector<float> one(10, 1), each(10 * size), none;
    gloo::BroadcastOptions broadcast(context);
    fill(broadcast, rank == 1 ? one : none, one);
    broadcast.setRoot(1);
    gloo::broadcast(broadcast);
    gloo::ReduceOptions reduce(context);
    fill(reduce, one, one);
    reduce.setRoot(1);
    reduce.setReduceFunction([](void *a, const void *b, const void *c, size_t n) { gloo::sum<float>(a, b, c, n); });
    gloo::reduce(reduce);
    gloo::AllgatherOptions allgather(context);
    fill(allgather, one, each);
    gloo::allgather(allgather);
    gloo::GatherOptions gather(context);
    fill(gather, one, rank == 1 ? each : none);
    gather.setRoot(1);
    gloo::gather(gather);
    gloo::AlltoallOptions alltoall(context);
    fill(alltoall, each, each);
    gloo::alltoall(alltoall);
    gloo::ScatterOptions scatter(context);
    std::vector<float *> parts;
    for (size_t i = 0; i < size; i++)
        parts.push_back(&each[10 * i]);
    if (rank == 1)
        scatter.setInputs(parts, 10);
    scatter.setOutput(one.data(), one.size());
    scatter.setRoot(1);
    gloo::scatter(scatter);
    gloo::AllgathervOptions gatherv(context);
    std::vector<size_t> counts;
    for (size_t i = 0; i < size; i++)
        counts.push_back(i + 1);
    std::vector<float> all(size * (size + 1) / 2);
    gatherv.setInput(one.data(), rank + 1);
    gatherv.setOutput(all.data(), counts);
    gloo::allgatherv(gatherv);
    gloo::AlltoallvOptions alltoallv(context);
    std::vector<int64_t> twos(size, 2);
    alltoallv.setInput(each.data(), twos);
    std::vector<float> received(2 * size);
    alltoallv.setOutput(received.data(), twos);
    gloo::alltoallv(alltoallv);
}

static void broadcast_wide(const Context &context, size_t n)
{
    struct Wide {
        char bytes[32];
    };
    std::vector<Wide> data(n);
    gloo::BroadcastOptions options(context);
    options.setOutput(data.data(), n);
    options.setRoot(0);
    gloo::broadcast(options);
}

int main(int argc, char **argv)
{
    const int rank = atoi(getenv("RANK")), size = atoi(getenv("WORLD_SIZE"));
    const char *mode = argc > 1 ? argv[1] : "ok";
    gloo::rendezvous::FileStore store(getenv("STORE"));
    Context all = meet("all", store, rank, size);
    if (strcmp(mode, "wide") == 0) {
        broadcast_wide(all, 100);
        allreduce(all, 1000);
        return 0;
    }
    call_each(all);
    if (rank < 2)
        allreduce(meet("pair", store, rank, 2), 100);
    if (rank == 1 && strcmp(mode, "late") == 0)
        for (;;)
            pause();
    if (strcmp(mode, "timeout") == 0) {
        all->setTimeout(std::chrono::milliseconds(300));
        try {
            if (rank == 1)
                sleep(2);
            allreduce(all, 1000);
        } catch (const std::exception &error) {
            std::cout << "an exception came through" << std::endl;
        }
        return 0;
    }
    if (rank == 1 && strcmp(mode, "mismatch") == 0) {
        gloo::BarrierOptions barrier(all);
        gloo::barrier(barrier);
    }
    allreduce(all, 1000);
    gloo::BarrierOptions barrier(all);
    gloo::barrier(barrier);
}
