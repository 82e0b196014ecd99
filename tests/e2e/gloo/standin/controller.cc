// Classes of Horovod 0.28.1 over Gloo, as its library exports them: names, tables of virtual functions, and the first
// members of a controller.  Lists are bytes.
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <memory>
#include <numeric>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include "mpi.h"

using Context = std::shared_ptr<gloo::Context>;

namespace horovod { namespace common {

enum ReduceOp { SUM };
enum Communicator { GLOBAL };

struct RequestList {
    std::string bytes;
    static void SerializeToString(const RequestList &list, std::string &text);
};
struct ResponseList {
    std::string bytes;
    static void SerializeToString(const ResponseList &list, std::string &text);
};
void RequestList::SerializeToString(const RequestList &list, std::string &text) { text = std::string(list.bytes); }
void ResponseList::SerializeToString(const ResponseList &list, std::string &text) { text = std::string(list.bytes); }

class Controller : public std::enable_shared_from_this<Controller>
{
public:
    virtual ~Controller() = default;
    virtual void CrossRankBitwiseAnd(std::vector<long long> &words, int n) = 0;
    virtual void CrossRankBitwiseOr(std::vector<long long> &words, int n) = 0;
    virtual void Barrier(Communicator where) = 0;
    virtual void DoInitialization() = 0;
    virtual void RecvReadyTensors(std::vector<std::string> &names, std::vector<RequestList> &lists) = 0;
    virtual void SendReadyTensors(RequestList &list) = 0;
    virtual void SendFinalTensors(ResponseList &list) = 0;
    virtual void RecvFinalTensors(ResponseList &list) = 0;

    bool is_initialized_ = false;
    int rank_ = 0, local_rank_ = 0, cross_rank_ = 0, size_ = 1, local_size_ = 1, cross_size_ = 1;
    bool is_coordinator_ = false, is_homogeneous_ = true;
    std::vector<int> global_ranks_;
};

static void all_reduce(const Context &context, long long *words, size_t n, bool is_or)
{
    gloo::AllreduceOptions options(context);
    options.setOutput(words, n);
    options.setReduceFunction([is_or](void *out, const void *a, const void *b, size_t n) {
        for (size_t i = 0; i < n; i++)
            ((long long *)out)[i] = is_or ? ((const long long *)a)[i] | ((const long long *)b)[i]
                                          : ((const long long *)a)[i] & ((const long long *)b)[i];
    });
    gloo::allreduce(options);
}

static void broadcast(const Context &context, void *data, size_t n)
{
    gloo::BroadcastOptions options(context);
    options.setOutput((uint8_t *)data, n);
    options.setRoot(0);
    gloo::broadcast(options);
}

class GlooController : public Controller
{
public:
    explicit GlooController(Context context) : context_(context) {}
    void CrossRankBitwiseAnd(std::vector<long long> &words, int n) override;
    void CrossRankBitwiseOr(std::vector<long long> &words, int n) override;
    void Barrier(Communicator where) override;
    void DoInitialization() override;
    void RecvReadyTensors(std::vector<std::string> &names, std::vector<RequestList> &lists) override;
    void SendReadyTensors(RequestList &list) override;
    void SendFinalTensors(ResponseList &list) override;
    void RecvFinalTensors(ResponseList &list) override;

private:
    std::vector<int> gather_lengths(int mine);
    void gather(const std::string &mine, const std::vector<int> &lengths, std::vector<uint8_t> &all);
    Context context_;
};

void GlooController::DoInitialization()
{
    rank_ = local_rank_ = context_->rank;
    size_ = local_size_ = context_->size;
    is_coordinator_ = rank_ == 0;
    global_ranks_.resize(size_);
    gloo::AllgatherOptions options(context_);
    options.setInput(&rank_, 1);
    options.setOutput(global_ranks_.data(), size_);
    gloo::allgather(options);
    is_initialized_ = true;
}
void GlooController::CrossRankBitwiseAnd(std::vector<long long> &words, int n)
{
    all_reduce(context_, words.data(), n, false);
}
void GlooController::CrossRankBitwiseOr(std::vector<long long> &words, int n)
{
    all_reduce(context_, words.data(), n, true);
}
void GlooController::Barrier(Communicator)
{
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
}
std::vector<int> GlooController::gather_lengths(int mine)
{
    std::vector<int> lengths(size_);
    gloo::AllgatherOptions options(context_);
    options.setInput(&mine, 1);
    options.setOutput(lengths.data(), size_);
    gloo::allgather(options);
    return lengths;
}
void GlooController::gather(const std::string &mine, const std::vector<int> &lengths, std::vector<uint8_t> &all)
{
    size_t sum = 0;
    for (int n : lengths)
        sum += n;
    all.resize(sum + 1);
    gloo::AllgathervOptions options(context_);
    options.setInput((uint8_t *)mine.data(), mine.size());
    options.setOutput(all.data(), std::vector<size_t>(lengths.begin(), lengths.end()));
    gloo::allgatherv(options);
}
void GlooController::RecvReadyTensors(std::vector<std::string> &, std::vector<RequestList> &lists)
{
    std::vector<int> lengths = gather_lengths(0);
    std::vector<uint8_t> all;
    gather("", lengths, all);
    size_t sum = 0;
    for (int n : lengths) {
        lists.push_back({std::string((char *)all.data() + sum, n)});
        sum += n;
    }
}
void GlooController::SendReadyTensors(RequestList &list)
{
    std::vector<uint8_t> none;
    gather(list.bytes, gather_lengths((int)list.bytes.size()), none);
}
void GlooController::SendFinalTensors(ResponseList &list)
{
    int n = (int)list.bytes.size();
    broadcast(context_, &n, sizeof n);
    broadcast(context_, &list.bytes[0], n);
}
void GlooController::RecvFinalTensors(ResponseList &list)
{
    int n;
    broadcast(context_, &n, sizeof n);
    list.bytes.resize(n);
    broadcast(context_, &list.bytes[0], n);
}

class IGlooAlgorithms
{
public:
    virtual void Allreduce(void *data, int n, ReduceOp operation) = 0;
    virtual void Reducescatter(void *data, std::vector<int> &counts) = 0;
    virtual ~IGlooAlgorithms() = default;
};
template <typename T> class GlooAlgorithms : public IGlooAlgorithms
{
public:
    explicit GlooAlgorithms(Context context) : context_(context) {}
    void Allreduce(void *data, int n, ReduceOp operation) override;
    void Reducescatter(void *data, std::vector<int> &counts) override;

private:
    Context context_;
};
template <typename T> void GlooAlgorithms<T>::Allreduce(void *data, int n, ReduceOp)
{
    gloo::AllreduceOptions options(context_);
    options.setOutput((T *)data, (size_t)n);
    options.setReduceFunction([](void *a, const void *b, const void *c, size_t n) { gloo::sum<T>(a, b, c, n); });
    gloo::allreduce(options);
}
template <typename T> void GlooAlgorithms<T>::Reducescatter(void *data, std::vector<int> &counts)
{
    std::vector<T *> buffers{(T *)data};
    gloo::ReduceScatterHalvingDoubling<T>(context_, buffers, std::accumulate(counts.begin(), counts.end(), 0), counts).run();
}

}} // namespace horovod::common

using namespace horovod::common;

static Controller *controller;
static IGlooAlgorithms *algorithms;
static Context others_context;
static std::vector<RequestList> requests;
static ResponseList response;

template <class Call> static void guarded(Call call)
{
    try {
        call();
    } catch (const std::exception &) {
        usleep(100000); // horovodrun kills all when the first is gone
        kill(getpid(), SIGKILL);
    }
}
static void make_bits(long long *words, int n, int is_or)
{
    std::vector<long long> vector(words, words + n);
    guarded([&] { is_or ? controller->CrossRankBitwiseOr(vector, n) : controller->CrossRankBitwiseAnd(vector, n); });
    memcpy(words, vector.data(), n * sizeof *words);
}
static void make_hear(int *lengths)
{
    std::vector<std::string> names;
    requests.clear();
    guarded([&] { controller->RecvReadyTensors(names, requests); });
    for (size_t i = 0; i < requests.size(); i++)
        lengths[i] = (int)requests[i].bytes.size();
}
static void make_heard(void *lists)
{
    for (const RequestList &list : requests)
        lists = (char *)memcpy(lists, list.bytes.data(), list.bytes.size()) + list.bytes.size();
}
static void make_ask(const void *list, int n)
{
    RequestList mine{std::string((const char *)list, n)};
    guarded([&] { controller->SendReadyTensors(mine); });
}
static void make_answer(const void *list, int n)
{
    ResponseList mine{std::string((const char *)list, n)};
    guarded([&] { controller->SendFinalTensors(mine); });
}
static int make_answered()
{
    guarded([&] { controller->RecvFinalTensors(response); });
    return (int)response.bytes.size();
}
static void make_copy(void *list) { memcpy(list, response.bytes.data(), response.bytes.size()); }
static void make_reduce(float *data, int n)
{
    guarded([&] { algorithms->Allreduce(data, n, SUM); });
    if (getenv("STANDIN_SCATTER")) { // rank 0 gets one element, the last rank the rest
        std::vector<int> counts(controller->size_, 1);
        std::vector<float> copy(data, data + n);
        counts.back() += n - controller->size_;
        guarded([&] { algorithms->Reducescatter(copy.data(), counts); });
    }
}
static void make_barrier()
{
    gloo::BarrierOptions options(others_context);
    guarded([&] { gloo::barrier(options); });
}

static Context meet(const char *prefix)
{
    gloo::transport::tcp::attr where;
    where.hostname = "127.0.0.1";
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(where);
    gloo::rendezvous::FileStore store(getenv("STORE"));
    gloo::rendezvous::PrefixStore own(prefix, store);
    auto context = std::make_shared<gloo::rendezvous::Context>(atoi(getenv("RANK")), atoi(getenv("WORLD_SIZE")));
    context->setTimeout(std::chrono::hours(1));
    context->connectFullMesh(own, device);
    return context;
}

extern "C" const struct standin *horovod_init()
{
    static struct standin all;
    signal(SIGPIPE, SIG_IGN); // as Python does
    Context context = meet("loop");
    others_context = meet("others");
    controller = new GlooController(context);
    algorithms = new GlooAlgorithms<float>(context);
    controller->DoInitialization();
    all = {controller->rank_, controller->size_, make_bits,     make_hear, make_heard,  make_ask,
           make_answer,       make_answered,     make_copy, make_reduce, make_barrier};
    return &all;
}
